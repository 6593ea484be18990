"""The paper's boxes in dense matrices, without `raydream`: what the package is compared with."""
