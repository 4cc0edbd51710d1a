"""What OpenAI takes as the bytes of an image, a recording or a file; the same on both of its wires."""

from quire.providers.checking.beginnings import check_beginning
from quire.providers.checking.reading import Fields, is_base64, short

IMAGE_TYPES = {"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"}
AUDIO_FORMATS = ("wav", "mp3")


def check_image_url(part: Fields, key: str) -> None:
    """An image is somewhere on the web or in the URL itself."""
    url = part.text(key)
    if url is None or url[:8].lower().startswith(("http://", "https://")):
        return
    media_type = _base64_type(url)
    if media_type is None:
        part.add(key, "image_source", "is neither an http(s) URL nor a data URL with base64")
    elif media_type not in IMAGE_TYPES:
        part.add(key, "image_type", f"has the media type {short(media_type)}")
    else:
        check_beginning(part, "image_type", media_type, url.partition(",")[2], key)


def check_audio(audio: Fields) -> None:
    """A recording is bare base64 and its format."""
    data, form = audio.text("data"), audio.text("format")
    if data is not None and not is_base64(data):
        audio.add("data", "audio_data", "is not base64 alone")
    if form is not None and form not in AUDIO_FORMATS:
        audio.add("format", "audio_format", f"is {short(form)}")


def check_file_data(part: Fields, key: str) -> None:
    """A file in the request is a data URL."""
    data = part.optional_text(key)
    if data is None:
        return
    media_type = _base64_type(data)
    if media_type is None:
        part.add(key, "file_source", "is not a data URL with base64")
    else:
        check_beginning(part, "file_type", media_type, data.partition(",")[2], key)


def _base64_type(url: str) -> str | None:
    """The media type of a data URL with base64 in it."""
    head, comma, body = url.partition(",")
    head = head.lower()
    if not (comma and head.startswith("data:") and head.endswith(";base64") and is_base64(body)):
        return None
    return head.removeprefix("data:").split(";")[0]
