"""Small PDFs, made by hand: a reader is tried on files, not on what its own library would write."""

from io import BytesIO

import pypdf


def made(*pages: str, outline: dict[str, int] | None = None, title: str = "") -> bytes:
    """A PDF with a line of text for each line of a page; an empty page has no text at all."""
    writer = pypdf.PdfWriter(clone_from=BytesIO(_bare(pages)))
    for name, page in (outline or {}).items():
        writer.add_outline_item(name, page)
    if title:
        writer.add_metadata({"/Title": title})
    return _written(writer)


def locked(data: bytes, password: str, opening: str = "") -> bytes:
    """The same, encrypted; with an empty password it opens for everybody."""
    writer = pypdf.PdfWriter(clone_from=BytesIO(data))
    writer.encrypt(user_password=opening, owner_password=password, algorithm="RC4-128")
    return _written(writer)


def _written(writer: pypdf.PdfWriter) -> bytes:
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _bare(pages: tuple[str, ...]) -> bytes:
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(_stream(page))
    return _joined(objects)


def _stream(page: str) -> bytes:
    lines = " ".join(f"({line}) Tj 0 -14 Td" for line in page.split("\n"))
    drawn = f"BT /F1 11 Tf 72 700 Td {lines} ET".encode() if page else b""
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn)


def _joined(objects: list[bytes]) -> bytes:
    out, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + head + table + end
