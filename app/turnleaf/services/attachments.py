"""Attachments: taking files in, and whether they fit the model's window."""

from __future__ import annotations

from turnleaf.services.attachment import Attachment, attachment_of, is_attached
from turnleaf.services.fitting import Fit, fits, history_tokens
from turnleaf.services.intake import AttachmentIntake

__all__ = ["Attachment", "AttachmentIntake", "Fit", "attachment_of", "fits", "history_tokens", "is_attached"]
