set(TANDEM_TORCH_VERSION 2.8)  # PyTorch's, or later; python/tandem/_torch_versions.py has it too
