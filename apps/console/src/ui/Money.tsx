import { useFormat } from './format.ts'
import classes from './Money.module.css'

interface MoneyProps {
  /** Micro-units, or the decimal string of them that the wire carries. */
  micro: bigint | string
  currency: string
  /** Makes it a rate, with its unit beside it. */
  per?: 'h' | 'day'
  /** Four decimals, where a rate is quoted. */
  quoted?: boolean
  /** Shows a plus and colours what comes in, for lists that go both ways. */
  signed?: boolean
  /** All that the ledger holds, in place of cents. */
  exact?: boolean
}

/** An amount of money: tabular figures, a real minus, its unit beside it. */
export function Money({ micro, currency, per, quoted = false, signed = false, exact = false }: MoneyProps) {
  const format = useFormat()
  const text = per
    ? format.rate(micro, currency, per, quoted)
    : signed
      ? format.signedMoney(micro, currency, exact)
      : exact
        ? format.exactMoney(micro, currency)
        : format.money(micro, currency)
  return (
    <span className={classes.money} data-in={(signed && BigInt(micro) > 0n) || undefined}>
      {text}
    </span>
  )
}
