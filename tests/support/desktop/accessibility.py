"""A small client of the accessibility bus (AT-SPI): finds widgets by object name, role or text, and reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jeepney import DBusAddress, MessageType, Properties, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

ACCESSIBLE = "org.a11y.atspi.Accessible"
# The bits of AT-SPI's StateType.
STATES = {
    "active": 1,
    "checked": 4,
    "enabled": 8,
    "focused": 12,
    "selected": 23,
    "sensitive": 24,
    "showing": 25,
    "visible": 30,
}
NULL_PATH = "/org/a11y/atspi/null"


class GoneError(LookupError):
    """The widget, or the whole application, went away while it was being asked."""


@dataclass(frozen=True)
class Extents:
    """A rectangle on the screen, in pixels."""

    x: int
    y: int
    width: int
    height: int

    @property
    def centre(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + self.height // 2


class AccessibilityBus:
    """One connection to the accessibility bus of a desktop session. Not thread-safe."""

    def __init__(self, session_bus: str, *, timeout_s: float = 5.0) -> None:
        session = open_dbus_connection(session_bus)
        launcher = DBusAddress("/org/a11y/bus", bus_name="org.a11y.Bus", interface="org.a11y.Bus")
        # The launcher and its bus are started by this very call, so it may take longer than an ordinary one.
        address = session.send_and_get_reply(new_method_call(launcher, "GetAddress"), timeout=30).body[0]
        session.close()
        self.timeout_s = timeout_s
        self.connection: DBusConnection = open_dbus_connection(address)

    def close(self) -> None:
        self.connection.close()

    def call(self, address: DBusAddress, method: str, signature: str | None = None, *arguments: Any) -> tuple[Any, ...]:
        """Return the reply's values. Raises `GoneError` when the object does not answer or answers with an error."""
        return self._send(new_method_call(address, method, signature, arguments))

    def property(self, address: DBusAddress, name: str) -> Any:
        return self._send(Properties(address).get(name))[0][1]

    def _send(self, message: Any) -> tuple[Any, ...]:
        try:
            reply = self.connection.send_and_get_reply(message, timeout=self.timeout_s)
        except TimeoutError as exc:
            raise GoneError(f"no answer on the accessibility bus within {self.timeout_s} s") from exc
        if reply.header.message_type is MessageType.error:
            raise GoneError(f"{reply.header.fields}: {reply.body}")
        return tuple(reply.body)

    def application(self, pid: int) -> Node | None:
        """Return the application object of process `pid`, or None while it has not registered."""
        root = Node(self, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        daemon = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        for node in root.children():
            try:
                owner = self.call(daemon, "GetConnectionUnixProcessID", "s", node.bus_name)[0]
            except GoneError:
                continue
            if owner == pid:
                return node
        return None


@dataclass(frozen=True)
class Node:
    """One accessible object. Every reading goes to the application, so it is as fresh as the moment it is asked."""

    bus: AccessibilityBus
    bus_name: str
    path: str

    def _address(self, interface: str) -> DBusAddress:
        return DBusAddress(self.path, bus_name=self.bus_name, interface=interface)

    def call(self, interface: str, method: str, signature: str | None = None, *arguments: Any) -> tuple[Any, ...]:
        return self.bus.call(self._address(f"org.a11y.atspi.{interface}"), method, signature, *arguments)

    def children(self) -> list[Node]:
        pairs = self.call("Accessible", "GetChildren")[0]
        return [Node(self.bus, name, path) for name, path in pairs if path != NULL_PATH]

    @property
    def identifier(self) -> str:
        """The dotted path of object names that Qt gives as the accessible id."""
        return str(self.bus.property(self._address(ACCESSIBLE), "AccessibleId"))

    @property
    def object_name(self) -> str:
        return self.identifier.rpartition(".")[2]

    @property
    def name(self) -> str:
        return str(self.bus.property(self._address(ACCESSIBLE), "Name"))

    @property
    def description(self) -> str:
        return str(self.bus.property(self._address(ACCESSIBLE), "Description"))

    @property
    def role(self) -> str:
        """The role's English name, such as `frame`, `button`, `list item`."""
        return str(self.call("Accessible", "GetRoleName")[0])

    @property
    def interfaces(self) -> list[str]:
        return [name.rpartition(".")[2] for name in self.call("Accessible", "GetInterfaces")[0]]

    def has_state(self, state: str) -> bool:
        low, high = self.call("Accessible", "GetState")[0]
        return bool((low | high << 32) >> STATES[state] & 1)

    @property
    def showing(self) -> bool:
        return self.has_state("showing") and self.has_state("visible")

    @property
    def enabled(self) -> bool:
        return self.has_state("enabled")

    @property
    def extents(self) -> Extents:
        return Extents(*self.call("Component", "GetExtents", "u", 0)[0])

    @property
    def text(self) -> str:
        """The whole text of a text widget, else the name."""
        if "Text" in self.interfaces:
            return str(self.call("Text", "GetText", "ii", 0, -1)[0])
        return self.name

    def press(self) -> None:
        """Do the widget's first action, as a screen reader does it (a button is pressed)."""
        self.call("Action", "DoAction", "i", 0)

    def walk(self) -> Iterator[Node]:
        """This object and everything below it, depth first; what goes away meanwhile is left out."""
        yield self
        try:
            children = self.children()
        except GoneError:
            return
        for child in children:
            yield from child.walk()

    def find_all(self, object_name: str = "", *, name: str = "", role: str = "", showing: bool = True) -> list[Node]:
        """All objects here and below that fit every given criterion; by default only what is shown on the screen.

        Nothing is looked for inside an object that fits: Qt gives the items of a view the object name of the view.
        """
        try:
            if self._fits(object_name, name, role, showing):
                return [self]
            children = self.children()
        except GoneError:
            return []
        return [
            found for child in children for found in child.find_all(object_name, name=name, role=role, showing=showing)
        ]

    def _fits(self, object_name: str, name: str, role: str, showing: bool) -> bool:
        return (
            (not object_name or self.object_name == object_name)
            and (not name or name in self.name)
            and (not role or self.role == role)
            and (not showing or self.showing)
        )

    def texts(self) -> str:
        """Every text and description at or below this object, one line each, in the order of the tree."""
        lines: list[str] = []
        for node in self.walk():
            try:
                lines += dict.fromkeys((node.text, node.description))
            except GoneError:
                continue
        return "\n".join(line for line in lines if line)

    def outline(self, depth: int = 0) -> str:
        """The tree below, for a failure's report."""
        try:
            shown = "" if self.showing else " (hidden)"
            line = f"{'  ' * depth}{self.role} {self.object_name!r} {self.text[:400]!r}{shown}"
            children = self.children()
        except GoneError:
            return f"{'  ' * depth}(gone)"
        return "\n".join([line, *(child.outline(depth + 1) for child in children)])
