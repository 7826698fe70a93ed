"""Qt's event loop and asyncio's, joined: the loop, its tasks, its hooks. QtCore and QtNetwork only, no widget."""
