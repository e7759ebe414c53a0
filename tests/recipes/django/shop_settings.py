"""A Django project with one application, on PostgreSQL."""

import os

SECRET_KEY = "for a test"
INSTALLED_APPS = ["orders"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "USER": os.environ["PGUSER"],
        "HOST": os.environ["PGHOST"],
    }
}
