"""Emoji and what Slack calls them; reactions are named, and so is what people type."""

from __future__ import annotations

from typing import Final

from postroom.domain.errors import ValidationError

_TABLE: Final = """
👍 +1 👎 -1 👌 ok_hand 👏 clap 🙏 pray 🙌 raised_hands 👋 wave ✋ hand 🤝 handshake 💪 muscle
🤞 crossed_fingers ✌ v 🤙 call_me_hand 👊 facepunch ✊ fist 🤘 the_horns 👈 point_left 👉 point_right
👆 point_up_2 👇 point_down ☝ point_up ✍ writing_hand 🫡 saluting_face 🫶 heart_hands 🤷 shrug
🤦 face_palm 🙋 raising_hand 🏃 runner 👀 eyes 🧠 brain ❤ heart 🧡 orange_heart 💛 yellow_heart
💚 green_heart 💙 blue_heart 💜 purple_heart 🖤 black_heart 🤍 white_heart 💔 broken_heart 💯 100
✨ sparkles ⭐ star 🌟 star2 🔥 fire 🎉 tada 🎊 confetti_ball 🎂 birthday 🎁 gift 🏆 trophy
🥇 first_place_medal 🎯 dart 🚀 rocket 💡 bulb ⚡ zap 💥 boom 💤 zzz 💬 speech_balloon 💭 thought_balloon
📌 pushpin 😀 grinning 😃 smiley 😄 smile 😁 grin 😆 laughing 😅 sweat_smile 😂 joy
🤣 rolling_on_the_floor_laughing 🙂 slightly_smiling_face 🙃 upside_down_face 😉 wink 😊 blush 😇 innocent
🥰 smiling_face_with_3_hearts 😍 heart_eyes 🤩 star-struck 😘 kissing_heart 😋 yum 😎 sunglasses
🤓 nerd_face 🤗 hugging_face 🤔 thinking_face 🤨 face_with_raised_eyebrow 😐 neutral_face
😑 expressionless 🙄 face_with_rolling_eyes 😏 smirk 😬 grimacing 😴 sleeping 😷 mask
🤒 face_with_thermometer 🤯 exploding_head 🥳 partying_face 😕 confused 😟 worried
🙁 slightly_frowning_face 😮 open_mouth 😲 astonished 😳 flushed 🥺 pleading_face 😢 cry 😭 sob 😱 scream
😞 disappointed 😩 weary 😤 triumph 😡 rage 😠 angry 🤬 face_with_symbols_on_mouth 😈 smiling_imp 💀 skull
💩 hankey 🤡 clown_face 👻 ghost 👽 alien 🤖 robot_face 🎃 jack_o_lantern 🙈 see_no_evil 🙉 hear_no_evil
🙊 speak_no_evil 🦄 unicorn_face 🐛 bug 🐢 turtle ☕ coffee 🍺 beer 🍻 beers 🍾 champagne 🍕 pizza 🍰 cake
🍪 cookie 🍎 apple 🌈 rainbow ☀ sunny 🌙 crescent_moon ❄ snowflake ✅ white_check_mark
☑ ballot_box_with_check ✔ heavy_check_mark ❌ x ❎ negative_squared_cross_mark ➕ heavy_plus_sign
➖ heavy_minus_sign ❓ question ❗ exclamation ‼ bangbang ⚠ warning 🚫 no_entry_sign ⛔ no_entry
🛑 octagonal_sign 🔴 red_circle 🟠 large_orange_circle 🟡 large_yellow_circle 🟢 large_green_circle
🔵 large_blue_circle ⏰ alarm_clock ⏳ hourglass_flowing_sand ⌛ hourglass 🔔 bell 🔕 no_bell 🔒 lock
🔓 unlock 🔑 key 🔗 link 📎 paperclip 📅 date 📝 memo 📈 chart_with_upwards_trend
📉 chart_with_downwards_trend 📣 mega 📢 loudspeaker 📧 e-mail 📞 telephone_receiver 📦 package 💰 moneybag
💸 money_with_wings 🛒 shopping_trolley 🔧 wrench 🔨 hammer ⚙ gear 🧪 test_tube 🩹 adhesive_bandage
♻ recycle 🆗 ok 🆘 sos 🆕 new ▶ arrow_forward ⏸ double_vertical_bar ➡ arrow_right ⬅ arrow_left
⬆ arrow_up ⬇ arrow_down 🔄 arrows_counterclockwise 🔁 repeat 🏠 house 🚗 car ✈ airplane 🌍 earth_africa
🌱 seedling 🌹 rose 🫠 melting_face 0⃣ zero 1⃣ one 2⃣ two 3⃣ three 4⃣ four 5⃣ five 6⃣ six 7⃣ seven
8⃣ eight 9⃣ nine 🔟 keycap_ten ✉ email
"""
_NAMES: Final = _TABLE.split()
_BY_CHARACTER: Final = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
_BY_NAME: Final = {name: character for character, name in _BY_CHARACTER.items()} | {
    "thumbsup": "👍",
    "thumbsdown": "👎",
    "simple_smile": "🙂",
    "punch": "👊",
    "raised_hand": "✋",
}
_PRESENTATION: Final = "\ufe0f"  # "as a picture": Slack's names make no difference
_LIGHTEST, _DARKEST = "\U0001f3fb", "\U0001f3ff"


def name_of(emoji: str) -> str:
    """Raises ValidationError for one that has no name here."""
    plain = emoji.strip().replace(_PRESENTATION, "")
    tone = plain[-1:] if _LIGHTEST <= plain[-1:] <= _DARKEST else ""
    name = _BY_CHARACTER.get(plain.removesuffix(tone))
    if name is None:
        raise ValidationError("emoji has no name at Slack that we know; take a common one, such as 👍 ✅ ❌ 👀 🎉")
    return f"{name}::skin-tone-{ord(tone) - ord(_LIGHTEST) + 2}" if tone else name


def character_of(name: str) -> str | None:
    return _BY_NAME.get(name)
