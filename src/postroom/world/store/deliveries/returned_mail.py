"""Mail that came back, and the address it was sent to."""

from __future__ import annotations

from sqlalchemy import Connection, select

from postroom.domain.address_folding import folded
from postroom.domain.closed_address import Closing
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import LateNews
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.closed_addresses import closed_addresses
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.people import person_addresses

_sent, _place = delivery_requests.c, person_addresses.c


def came_back(connection: Connection, delivery_id: DeliveryId, news: LateNews) -> Closing:
    """The address is the one we wrote to, whatever a report calls it; one that somebody has proved is only doubted."""
    sent = connection.execute(select(_sent.channel, _sent.address).where(_sent.id == delivery_id)).one()
    is_here = _place.channel == sent.channel, _place.folded == folded(sent.address)
    proved = select(_place.id).where(*is_here, _place.verified_at.is_not(None)).limit(1)
    reason = Closing.DOUBTFUL if connection.execute(proved).first() else Closing.BOUNCED
    row = {
        "channel": sent.channel,
        "folded": folded(sent.address),
        "address": sent.address,
        "reason": str(reason),
        "words": news.words,
        "delivery_id": delivery_id,
        "closed_at": news.at_us,
    }
    connection.execute(insert_for(connection, closed_addresses).values(row).on_conflict_do_nothing())
    return reason
