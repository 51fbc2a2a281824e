# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""How a program tells what it has found so far: a line of JSON for each, with a sentence of it."""

import json


def tell(subject, said, **figures):
    print(json.dumps({"subject": subject, "said": said, **figures}), flush=True)
