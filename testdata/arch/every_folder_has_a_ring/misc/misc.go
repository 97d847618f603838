package misc // want "misc stands in no ring"
