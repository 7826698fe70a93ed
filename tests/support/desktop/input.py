"""Mouse and keyboard: real input events on an X display, made by the XTEST extension."""

from __future__ import annotations

import time

from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.xobject.drawable import Window

# Where X's own keysyms end, characters follow as 0x01000000 + code point.
UNICODE_KEYSYM = 0x01000000
MAP_CHANGE_S = 0.2
NAMED_CHARACTERS = {"\n": "Return", "\t": "Tab"}


class Mouse:
    """The pointer of one display."""

    def __init__(self, display: Display) -> None:
        self.display = display

    def move(self, x: int, y: int) -> None:
        xtest.fake_input(self.display, X.MotionNotify, x=x, y=y)
        self.display.sync()

    def press(self, button: int = 1) -> None:
        xtest.fake_input(self.display, X.ButtonPress, button)
        self.display.sync()

    def release(self, button: int = 1) -> None:
        xtest.fake_input(self.display, X.ButtonRelease, button)
        self.display.sync()

    def click(self, x: int, y: int, *, button: int = 1, count: int = 1) -> None:
        self.move(x, y)
        for _ in range(count):
            self.press(button)
            self.release(button)

    def scroll(self, x: int, y: int, steps: int) -> None:
        """Turn the wheel over a point, down for positive `steps`."""
        self.move(x, y)
        for _ in range(abs(steps)):
            self.press(5 if steps > 0 else 4)
            self.release(5 if steps > 0 else 4)


class Keyboard:
    """The keyboard of one display; characters that its layout lacks are put on spare keys while they are typed."""

    def __init__(self, display: Display) -> None:
        self.display = display
        self.first = display.display.info.min_keycode
        self.count = display.display.info.max_keycode - self.first + 1
        self.shift = display.keysym_to_keycode(XK.string_to_keysym("Shift_L"))
        self.borrowed: set[int] = set()

    def type_text(self, text: str) -> None:
        """Type every character; a line break presses Return."""
        while text:
            keys = self._keys_for(text)
            typed = 0
            while typed < len(text) and text[typed] in keys:
                self._stroke(*keys[text[typed]])
                typed += 1
            self.display.sync()
            text = text[typed:]

    def _stroke(self, keycode: int, shifted: bool) -> None:
        if shifted:
            self._event(X.KeyPress, self.shift)
        self._event(X.KeyPress, keycode)
        self._event(X.KeyRelease, keycode)
        if shifted:
            self._event(X.KeyRelease, self.shift)

    def press(self, *names: str) -> None:
        """Press a chord of keys by their X names, such as `press("Control_L", "s")`, and let go in reverse."""
        codes = [self.display.keysym_to_keycode(XK.string_to_keysym(name)) for name in names]
        if 0 in codes:
            raise ValueError(f"a key of {names} is not on this keyboard")
        for code in codes:
            self._event(X.KeyPress, code)
        for code in reversed(codes):
            self._event(X.KeyRelease, code)
        self.display.sync()

    def _event(self, kind: int, keycode: int) -> None:
        xtest.fake_input(self.display, kind, keycode)

    def _keys_for(self, text: str) -> dict[str, tuple[int, bool]]:
        """Return keycode and shift for the first characters of `text`, as many as there are keys to lend at once."""
        table = self.display.get_keyboard_mapping(self.first, self.count)
        by_symbol: dict[int, tuple[int, bool]] = {}
        for row, symbols in enumerate(table):
            for level in (1, 0):
                if level < len(symbols) and symbols[level]:
                    by_symbol[symbols[level]] = (self.first + row, level == 1)
        spare = [self.first + row for row, symbols in enumerate(table) if not any(symbols)]
        symbols_wanted = {character: keysym_of(character) for character in text}
        lent = {by_symbol[symbol][0] for symbol in symbols_wanted.values() if symbol in by_symbol} & self.borrowed
        spare += sorted(self.borrowed - lent)
        keys: dict[str, tuple[int, bool]] = {}
        changed = False
        for character, symbol in symbols_wanted.items():
            if symbol not in by_symbol:
                if not spare:
                    break
                by_symbol[symbol] = (spare.pop(), False)
                self.display.change_keyboard_mapping(by_symbol[symbol][0], [(symbol, symbol)])
                self.borrowed.add(by_symbol[symbol][0])
                changed = True
            keys[character] = by_symbol[symbol]
        if changed:
            self.display.sync()
            # Clients read the changed map in their own time, and a key pressed before that types nothing.
            time.sleep(MAP_CHANGE_S)
        if not keys:
            raise ValueError("this keyboard has no spare key for characters that its layout lacks")
        return keys


def keysym_of(character: str) -> int:
    if character in NAMED_CHARACTERS:
        return int(XK.string_to_keysym(NAMED_CHARACTERS[character]))
    code = ord(character)
    # Latin-1 keysyms are the code points themselves.
    return code if 0x20 <= code <= 0xFF else UNICODE_KEYSYM + code


def give_focus(display: Display, window: Window) -> None:
    """Give `window` the keyboard and raise it, as a window manager does when it is clicked."""
    window.configure(stack_mode=X.Above)
    window.set_input_focus(X.RevertToPointerRoot, X.CurrentTime)
    display.sync()
