"""run_django.py FOLDER: a project in FOLDER, whose second migration is the recipe."""

from __future__ import annotations

import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction

_FIRST = """
from django.db import migrations, models

class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel(
            "Customer",
            [("id", models.BigAutoField(primary_key=True)), ("country", models.TextField(default=""))],
        )
    ]
"""


def main(folder: Path) -> None:
    (folder / "shop/migrations/__init__.py").write_text("")
    (folder / "shop/__init__.py").write_text("")
    (folder / "shop/migrations/0001_initial.py").write_text(_FIRST)
    sys.path.insert(0, str(folder))
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "db.sqlite3")}
    settings.configure(INSTALLED_APPS=["shop"], DATABASES={"default": database})
    django.setup()
    call_command("migrate", "shop", "0001", verbosity=0)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany("INSERT INTO shop_customer (country) VALUES (%s)", [("",)] * 1200)
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT country, count(*) FROM shop_customer GROUP BY country")
        print(cursor.fetchall())


main(Path(sys.argv[1]))
