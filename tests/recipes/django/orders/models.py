from django.db import models


class Order(models.Model):
    net = models.IntegerField()
    tax = models.IntegerField()
    total = models.IntegerField(null=True)
