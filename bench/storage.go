package main

func (b *bench) storage() error { return nil }
