"""What a run leaves on the disk, and how it is read again: whole, validated, without pickle."""
