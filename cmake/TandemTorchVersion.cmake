set(TANDEM_TORCH_VERSION 2.15)  # PyTorch's, or later; CONTRIBUTING.md lists what else names it
