"""What the saboteur of chaos.py does to runs, and what it watches."""
