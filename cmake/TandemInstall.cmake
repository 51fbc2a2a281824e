# Install rules: see the house helper.
