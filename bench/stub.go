package main

import "context"

func roleOf(string) func(context.Context, []string) error { return nil }
func (b *bench) proxies() error                           { return nil }
func (b *bench) storage() error                           { return nil }
