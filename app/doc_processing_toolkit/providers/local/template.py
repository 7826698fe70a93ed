"""The transcript template: how a model that was never taught to chat is made to continue a conversation.

Two example conversations of about 140 tokens show it how questions are answered. Lines of a user's that look like
turns are left as they are: written otherwise, the model copied the writing and ran on past the stop strings.
"""

from __future__ import annotations

TRANSCRIPT_STOP = ("\nUser:", "\nConversation", "\nQuestion:")
"""Where the continuation has left the answer."""

TRANSCRIPT_TEMPLATE = """\
{{ bos_token }}Conversation 1
User: My name is Tom. My dog is called Rex.
Assistant: Hello Tom!
User: What is my name?
Assistant: Your name is Tom.
User: Do you remember what my dog is called?
Assistant: Your dog is called Rex.

Conversation 2
User: Document: The bridge was built in 1932 by Anna Berg. It is 200 metres long.

Question: Who built the bridge?
Assistant: The bridge was built by Anna Berg.
User: How long is it?
Assistant: It is 200 metres long.

Conversation 3
{% for m in messages %}{% if m['role'] == 'assistant' %}Assistant: {{ m['content'] | trim }}
{% elif m['role'] == 'user' %}User: {{ m['content'] | trim }}
{% else %}({{ m['content'] | trim }})
{% endif %}{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}
"""
