from django.db import migrations, models


class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel(
            "Order",
            [
                ("id", models.AutoField(primary_key=True)),
                ("net", models.IntegerField()),
                ("tax", models.IntegerField()),
            ],
        )
    ]
