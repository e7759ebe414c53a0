"""Celery with folders for a broker and for results, so that the test needs no other server."""

broker_url = "filesystem://"
broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue", "store_processed": False}
result_backend = "file://results"
worker_hijack_root_logger = False
