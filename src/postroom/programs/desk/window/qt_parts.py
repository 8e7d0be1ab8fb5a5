"""Widgets and colours of the Qt window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QMimeData, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QKeyEvent, QResizeEvent, QShowEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QAbstractSlider,
    QLayout,
    QLayoutItem,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QTextEdit,
    QWidget,
)

from postroom.programs.desk.palette import Palette
from postroom.programs.desk.who import Who

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
INPUT_ROWS = 4


class ReadingArea(QTextEdit):
    """Text to read, scroll and copy; never anything but plain text."""

    def __init__(self, name: str, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._to_end = False
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def show_text(self, text: str) -> None:
        self.setPlainText(text)

    def show_history(self, history: Sequence[tuple[str, str]], palette: Palette) -> None:
        self.setObjectName("history")
        name, said = QTextCharFormat(), QTextCharFormat()
        name.setForeground(QColor(palette.accent))
        name.setFontWeight(QFont.Weight.Bold)
        said.setForeground(QColor(palette.muted))
        cursor = self.textCursor()
        for index, (who, text) in enumerate(history):
            cursor.insertText(("\n" if index else "") + ("You" if who == Who.PERSON else "Assistant") + "\n", name)
            cursor.insertText(text, said)
        self._to_end = True

    def sizeHint(self) -> QSize:
        """As high as its text, up to its number of rows."""
        self.ensurePolished()
        document = self.document().clone()
        document.setDefaultFont(self.font())
        document.setTextWidth(500)
        line = self.fontMetrics().lineSpacing()
        height = min(int(document.size().height()) + 24, line * self._rows + 24)
        return QSize(500, max(height, 2 * line + 24))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 3 * self.fontMetrics().lineSpacing())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._scroll()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._scroll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar, plain = self.verticalScrollBar(), event.modifiers() == Qt.KeyboardModifier.NoModifier
        match event.key():
            case Qt.Key.Key_Home if plain:
                bar.setValue(bar.minimum())
            case Qt.Key.Key_End if plain:
                bar.setValue(bar.maximum())
            case Qt.Key.Key_Up if plain:
                bar.triggerAction(QAbstractSlider.SliderAction.SliderSingleStepSub)
            case Qt.Key.Key_Down if plain:
                bar.triggerAction(QAbstractSlider.SliderAction.SliderSingleStepAdd)
            case _:
                super().keyPressEvent(event)

    def _scroll(self) -> None:
        if self._to_end:
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


class QtReplyInput(QPlainTextEdit):
    """Several lines; Enter submits and Shift+Enter breaks the line."""

    def __init__(self, submit: Callable[[], None], changed: Callable[[str], None]) -> None:
        super().__init__()
        self._submit = submit
        self.setAccessibleName("Your reply")
        self.setAccessibleDescription("Enter submits, Shift+Enter starts a new line, Escape cancels")
        self.setTabChangesFocus(True)
        self.setFixedHeight(INPUT_ROWS * self.fontMetrics().lineSpacing() + 24)
        self.textChanged.connect(lambda: changed(self.read()))

    def read(self) -> str:
        return self.toPlainText()

    def insert(self, text: str) -> None:
        self.insertPlainText(text)
        self.ensureCursorVisible()

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            self.insert(source.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            event.ignore()
        elif event.key() not in _ENTER:
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.insert("\n")
        else:
            self._submit()


class QtNoInput(QWidget):
    """Only choosing answers; the keyboard begins where a stray key decides nothing."""

    def __init__(self, first: QWidget) -> None:
        super().__init__()
        self.setFocusProxy(first)
        self.setFixedHeight(0)

    def read(self) -> str:
        return ""

    def insert(self, _text: str) -> None:
        """There is nowhere to put it."""


class QtSecretInput(QLineEdit):
    """One line that shows dots; what is typed is read once, at the end."""

    def __init__(self, submit: Callable[[], None], changed: Callable[[str], None]) -> None:
        super().__init__()
        self.setEchoMode(QLineEdit.EchoMode.Password)
        self.setAccessibleName("Your reply, hidden")
        self.setMaxLength(100_000)
        self.returnPressed.connect(submit)
        self.textChanged.connect(changed)

    def read(self) -> str:
        return self.text()


class FlowLayout(QLayout):
    """Buttons side by side, and on the next line when there is no more room."""

    def __init__(self) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._gap = 6

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, area: QRect) -> None:
        super().setGeometry(area)
        self._place(area, move=True)

    def sizeHint(self) -> QSize:
        return QSize(500, self.heightForWidth(500))

    def minimumSize(self) -> QSize:
        widest = max((item.sizeHint().width() for item in self._items), default=0)
        return QSize(min(widest, 500), self.heightForWidth(500))

    def _place(self, area: QRect, *, move: bool) -> int:
        x, y, row = area.x(), area.y(), 0
        for item in self._items:
            size = item.sizeHint().boundedTo(QSize(area.width(), 10_000))
            if x > area.x() and x + size.width() > area.right() + 1:
                x, y, row = area.x(), y + row + self._gap, 0
            if move:
                item.setGeometry(QRect(QPoint(x, y), size))
            x, row = x + size.width() + self._gap, max(row, size.height())
        return y + row - area.y()


def style_sheet(palette: Palette) -> str:
    return f"""
    QWidget {{ background: {palette.background}; color: {palette.text}; font-size: 11pt; }}
    QTextEdit, QPlainTextEdit, QLineEdit {{
        background: {palette.surface}; color: {palette.text}; border: 2px solid {palette.border};
        border-radius: 6px; padding: 6px;
        selection-background-color: {palette.selection}; selection-color: {palette.on_selection};
    }}
    QTextEdit#history {{ background: {palette.background}; font-size: 10pt; }}
    QTextEdit:focus, QPlainTextEdit:focus, QLineEdit:focus {{ border-color: {palette.accent}; }}
    QLabel#notice {{ color: {palette.muted}; font-size: 10pt; }}
    QLabel#problem {{ color: {palette.warning}; }}
    QLabel#hint {{ color: {palette.muted}; }}
    QScrollArea {{ border: none; }}
    QLabel#project {{ color: {palette.accent}; font-weight: bold; font-size: 10pt; }}
    QPushButton {{
        background: {palette.button}; color: {palette.on_button}; border: 2px solid {palette.button};
        border-radius: 6px; padding: 5px 14px;
    }}
    QPushButton#submit, QPushButton:checked {{
        background: {palette.accent}; color: {palette.on_accent}; border-color: {palette.accent};
    }}
    QPushButton:focus {{ border-color: {palette.text}; }}
    QScrollBar:vertical {{ background: {palette.background}; width: 12px; }}
    QScrollBar::handle:vertical {{ background: {palette.border}; border-radius: 4px; min-height: 24px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; }}
    """
