package budget

// Pico is money.
type Pico int64
