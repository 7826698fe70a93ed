"""``python -m turnleaf``."""

from turnleaf.main import main

raise SystemExit(main())
