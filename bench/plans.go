package main

// plans stands for the comparison with Temporal's replayer.
func (b *bench) plans() error {
	b.add(row{name: "plans, replay of a step, beside Temporal's replayer", why: "there is no plan engine yet"})
	return nil
}
