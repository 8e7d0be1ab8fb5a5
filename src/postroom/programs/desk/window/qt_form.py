"""A form: one labelled line after the other, to be scrolled when there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from postroom.programs.desk.window.qt_parts import FlowLayout
from postroom.programs.desk.wire import FormField

HEIGHT = 380


@dataclass(frozen=True, slots=True, kw_only=True)
class QtFormHands:
    """What a line of the form does when something is done in it."""

    submit: Callable[[], None]
    changed: Callable[[], None]


class QtForm(QScrollArea):
    def __init__(self, fields: Sequence[FormField], hands: QtFormHands, *, secret: bool) -> None:
        super().__init__()
        self._hands, self._secret = hands, secret
        self.stops: list[QWidget] = []
        self._rows = QWidget()
        self._column = QVBoxLayout(self._rows)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._readers = {field.name: self._row(field) for field in fields}
        self._column.addStretch(1)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(self._rows)

    def read(self) -> dict[str, list[str]]:
        """Only what was filled in."""
        found = {name: reader() for name, reader in self._readers.items()}
        return {name: values for name, values in found.items() if values}

    def sizeHint(self) -> QSize:
        self.ensurePolished()
        height = max(self._column.heightForWidth(500), self._column.sizeHint().height())
        return QSize(500, min(height + 4, HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, min(self.sizeHint().height(), 160))

    def _row(self, field: FormField) -> Callable[[], list[str]]:
        self._column.addSpacing(6)
        label = self._label(field.label + (" *" if field.required else ""), "")
        if field.hint:
            self._label(field.hint, "hint")
        return self._picked(field) if field.choices else self._typed(field, label)

    def _label(self, text: str, name: str) -> QLabel:
        label = QLabel(text)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setObjectName(name)
        self._column.addWidget(label)
        return label

    def _typed(self, field: FormField, label: QLabel) -> Callable[[], list[str]]:
        line = QLineEdit("".join(field.value))
        line.setAccessibleName(field.label)
        line.setAccessibleDescription(field.hint)
        line.setMaxLength(100_000)
        if self._secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        label.setBuddy(line)
        line.returnPressed.connect(self._hands.submit)
        line.textChanged.connect(lambda _: self._hands.changed())
        self._column.addWidget(line)
        self.stops.append(line)
        return lambda: [line.text()] if line.text().strip() else []

    def _picked(self, field: FormField) -> Callable[[], list[str]]:
        flow, buttons = FlowLayout(), [self._choice(field, label) for _, label in field.choices]
        for number, button in enumerate(buttons):
            button.setChecked(field.choices[number][0] in field.value)
            button.clicked.connect(lambda _, number=number: self._press(field, buttons, number))
            flow.addWidget(button)
        self._column.addLayout(flow)
        self.stops += buttons
        values = [value for value, _ in field.choices]
        return lambda: [value for value, button in zip(values, buttons, strict=True) if button.isChecked()]

    def _choice(self, field: FormField, label: str) -> QPushButton:
        button = QPushButton(label.replace("&", "&&"))
        button.setAccessibleName(f"{field.label}: {label}")
        button.setAutoDefault(False)
        button.setCheckable(True)
        return button

    def _press(self, field: FormField, buttons: Sequence[QPushButton], number: int) -> None:
        for other, button in enumerate(buttons):
            if other != number and not field.several:
                button.setChecked(False)
        self._hands.changed()
