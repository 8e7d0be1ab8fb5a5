"""The window drawn with Qt, which screen readers can read and which sets right-to-left text correctly."""

from __future__ import annotations

import itertools
import sys
import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCloseEvent, QCursor, QGuiApplication, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from postroom.programs.desk.outcome import PopupOutcome
from postroom.programs.desk.palette import PALETTES
from postroom.programs.desk.window.monitors import monitors
from postroom.programs.desk.window.placement import Area, centred, monitor_for
from postroom.programs.desk.window.qt_form import QtForm, QtFormHands
from postroom.programs.desk.window.qt_parts import (
    FlowLayout,
    QtNoInput,
    QtReplyInput,
    QtSecretInput,
    ReadingArea,
    style_sheet,
)
from postroom.programs.desk.window.sitting import LINGER_SECONDS, PULSE_MILLISECONDS, Sitting

WIDTH = 560
HISTORY_ROWS = 8
MESSAGE_ROWS = 16
_LINGER_CHECK_MILLISECONDS = 500
_PICTURE_DELAY_MILLISECONDS = 250


def run(sitting: Sitting) -> int:
    app = QApplication(["postroom"])
    app.setApplicationName("Postroom")
    app.setQuitOnLastWindowClosed(False)
    window = QtWindow(sitting)
    window.show_centred()
    return app.exec()


class QtWindow(QWidget):
    def __init__(self, sitting: Sitting) -> None:
        super().__init__(None, Qt.WindowType.Dialog | Qt.WindowType.WindowStaysOnTopHint)
        self._sitting = sitting
        self._sheet = sitting.sheet
        self._palette = PALETTES[sitting.sheet.palette]
        self._left_at = 0.0
        self._form: QtForm | None = None
        self.setWindowTitle(" ".join(self._sheet.title.split()))
        self.setStyleSheet(style_sheet(self._palette))
        self.setMouseTracking(True)
        if not self._sheet.wait_for_response:
            self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._pulse)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 14, 14, 14)
        self._column.setSpacing(10)
        self._build()

    def show_centred(self) -> None:
        screen = QGuiApplication.primaryScreen().geometry()
        whole = Area(x=screen.x(), y=screen.y(), width=screen.width(), height=screen.height())
        pointer = QCursor.pos()
        areas = monitors(whole) if sys.platform.startswith("linux") else _screens(whole)
        self.ensurePolished()
        height = max(self.sizeHint().height(), self.heightForWidth(WIDTH))
        place = centred(monitor_for(areas, (pointer.x(), pointer.y())), WIDTH, height)
        self.setGeometry(place.x, place.y, place.width, place.height)
        self.show()
        self.raise_()
        if self._sheet.wait_for_response:
            self.activateWindow()
            self._input.setFocus()

    # what it looks like

    def _build(self) -> None:
        if self._sheet.project:
            project = QLabel(self._sheet.project)
            project.setTextFormat(Qt.TextFormat.PlainText)
            project.setObjectName("project")
            self._column.addWidget(project)
        if self._sheet.history:
            history = ReadingArea("Conversation so far", HISTORY_ROWS)
            history.show_history(self._sheet.history, self._palette)
            self._column.addWidget(history)
        self._message = ReadingArea("Message", MESSAGE_ROWS)
        self._message.show_text(self._sheet.message)
        self._column.addWidget(self._message)
        if not self._sheet.wait_for_response:
            self._build_footer()
            return
        self._build_reply()
        self._build_footer()
        self._show_offer()

    def _build_reply(self) -> None:
        self._options: list[QPushButton] = []
        if self._sheet.problem:
            self._column.addWidget(_problem(self._sheet.problem))
        if self._sheet.options:
            flow = FlowLayout()
            for option in self._sheet.options:
                flow.addWidget(self._option(option))
            self._column.addLayout(flow)
        if self._sheet.fields:
            hands = QtFormHands(submit=self._submit, changed=lambda: self._sitting.typed(""))
            self._form = QtForm(self._sheet.fields, hands, secret=self._sheet.secret)
            self._column.addWidget(self._form)
        self._offer = QHBoxLayout()
        self._column.addLayout(self._offer)
        self._input = self._reply()
        self._column.addWidget(self._input)

    def _reply(self) -> QtReplyInput | QtSecretInput | QtNoInput:
        if not self._sheet.has_reply:
            return QtNoInput(self._message)
        kind = QtSecretInput if self._sheet.secret else QtReplyInput
        reply = kind(self._submit, self._sitting.typed)
        if self._sheet.text:
            reply.insert(self._sheet.text)
        return reply

    def _option(self, option: str) -> QPushButton:
        button = QPushButton(option.replace("&", "&&"))
        button.setAccessibleName(option)
        button.setAutoDefault(False)
        button.setCheckable(self._sheet.allow_multiple)
        if not self._sheet.allow_multiple:
            button.clicked.connect(lambda: self._submit([option]))
        self._options.append(button)
        return button

    def _build_footer(self) -> None:
        row = QHBoxLayout()
        self._notice = QLabel(self._sitting.notice()[0])  # there from the first moment, not after the first pulse
        self._notice.setObjectName("notice")
        if self._sheet.decline_label:
            self._column.addWidget(self._notice)  # three buttons leave no room beside them
        else:
            row.addWidget(self._notice, 1)
        if self._sheet.wait_for_response:
            self._build_buttons(row)
        else:
            close = QPushButton("Close")
            close.clicked.connect(lambda: self._end(PopupOutcome.CANCELLED))
            row.addWidget(close)
        self._column.addLayout(row)

    def _build_buttons(self, row: QHBoxLayout) -> None:
        sheet = self._sheet
        submit, cancel = QPushButton(sheet.submit_label), QPushButton(sheet.cancel_label)
        submit.setObjectName("submit")
        submit.clicked.connect(lambda: self._submit())
        cancel.clicked.connect(lambda: self._end(PopupOutcome.CANCELLED))
        self._last_stops = [cancel] if sheet.ends_by_choosing else [submit, cancel]
        if sheet.decline_label:
            decline = QPushButton(sheet.decline_label)
            decline.clicked.connect(self._decline)
            row.addWidget(decline)
            row.addStretch(1)
            self._last_stops.append(decline)
        row.addWidget(cancel)
        if not sheet.ends_by_choosing:
            row.addWidget(submit)

    def _order_tabs(self, *before_input: QPushButton) -> None:
        stops = [*before_input, *self._answering(), *self._last_stops]
        for one, next_one in itertools.pairwise(stops):
            self.setTabOrder(one, next_one)

    def _answering(self) -> list[QWidget]:
        """Where Tab comes from to the buttons at the foot."""
        if self._sheet.has_reply:
            return [self._input]
        return list(self._form.stops if self._form else self._options)

    def _show_offer(self) -> None:
        while (item := self._offer.takeAt(0)) is not None:
            if widget := item.widget():
                widget.deleteLater()
        if self._sitting.offer() is None:
            self._order_tabs()
            return
        label = QLabel(self._sitting.offer_label())
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setObjectName("notice")
        use, discard = QPushButton("Use it"), QPushButton("Discard")
        use.clicked.connect(self._use_offer)
        discard.clicked.connect(self._discard_offer)
        for widget, stretch in ((label, 1), (use, 0), (discard, 0)):
            self._offer.addWidget(widget, stretch)
        self._order_tabs(use, discard)

    # what it does

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self._shown)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        self._end(PopupOutcome.DISMISSED)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._sitting.active()
        if event.key() == Qt.Key.Key_Escape:
            self._end(PopupOutcome.CANCELLED)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(
            button := self.focusWidget(), QPushButton
        ):
            button.click()
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self._sheet.wait_for_response:
            self._sitting.active()
        super().mouseMoveEvent(event)

    def _shown(self) -> None:
        self._sitting.shown()
        self._timer.start(PULSE_MILLISECONDS)
        if self._sheet.preview:
            QTimer.singleShot(_PICTURE_DELAY_MILLISECONDS, self._end_preview)

    def _end_preview(self) -> None:
        if self._sheet.screenshot:
            self.grab().save(self._sheet.screenshot)
        self._end(PopupOutcome.DISPLAYED)

    def _pulse(self) -> None:
        if self._sitting.over:
            self._linger()
            return
        outcome = self._sitting.pulse()
        if outcome is not None:
            QApplication.processEvents()  # keys that were pressed before the end belong to the draft
            if not self._sitting.over:
                self._end(outcome)
            return
        text, warning = self._sitting.notice()
        if self._notice.text() != text:
            self._notice.setText(text)
            self._notice.setStyleSheet(f"color: {self._palette.warning}" if warning else "")

    def _submit(self, chosen: list[str] | None = None) -> None:
        boxes = zip(self._sheet.options, self._options, strict=True)
        picked = chosen or [option for option, button in boxes if button.isChecked()]
        if self._sitting.submit(self._input.read(), picked, self._filled()):
            self._leave()

    def _decline(self) -> None:
        if self._sitting.decline():
            self._leave()

    def _filled(self) -> dict[str, list[str]]:
        return self._form.read() if self._form else {}

    def _use_offer(self) -> None:
        offer = self._sitting.offer()
        if offer is not None:
            self._input.insert(offer[0])
            self._sitting.typed(self._input.read())
            self._discard_offer()

    def _discard_offer(self) -> None:
        self._sitting.take_offer()
        self._show_offer()
        self._input.setFocus()

    def _end(self, outcome: PopupOutcome) -> None:
        if not self._sitting.over:
            self._sitting.end(outcome, fields={} if self._sheet.secret else self._filled())
            self._leave()

    def _leave(self) -> None:
        """Text copied here would vanish with the process, so it stays unseen until something else is copied."""
        self.hide()
        self._left_at = time.monotonic()
        self._timer.setInterval(_LINGER_CHECK_MILLISECONDS)
        self._timer.start()
        self._linger()

    def _linger(self) -> None:
        owns = sys.platform.startswith("linux") and QGuiApplication.clipboard().ownsClipboard()
        if not owns or time.monotonic() - self._left_at > LINGER_SECONDS:
            QTimer.singleShot(0, QApplication.quit)


def _problem(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setObjectName("problem")
    return label


def _screens(whole: Area) -> list[Area]:
    rectangles = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    return [Area(x=r.x(), y=r.y(), width=r.width(), height=r.height()) for r in rectangles] or [whole]
