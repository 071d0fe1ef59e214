import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { EXPLORE_FIELDS } from './search.ts'

interface PriceMaxFieldProps {
  /** As the address holds it; empty for any price. */
  value: string
  currency: string
  onChange: (price: string) => void
}

/** The address hears of a price once its typing pauses this long. */
const TYPING_PAUSE_MS = 250
/** As long as the longest price that the address may hold. */
const PRICE_CHARS_MAX = 13

/** The most that an hour may cost. What is no price says so and narrows nothing. */
export function PriceMaxField({ value, currency, onChange }: PriceMaxFieldProps) {
  const { t } = useTranslation('offers')
  const [typed, setTyped] = useState(value)
  const kept = useRef(value)
  const keepTyped = useDebouncedCallback((text: string) => {
    kept.current = text
    onChange(text)
  }, TYPING_PAUSE_MS)
  const price = typed.trim().replace(',', '.')
  const isPrice = price === '' || EXPLORE_FIELDS.price.safeParse(price).success

  useEffect(() => {
    // The address was changed from elsewhere: by the way back, or because everything was cleared.
    if (value === kept.current) return
    kept.current = value
    setTyped(value)
  }, [value])

  return (
    <TextInput
      label={t('filters.price', { currency })}
      placeholder="0.50"
      inputMode="decimal"
      autoComplete="off"
      maxLength={PRICE_CHARS_MAX}
      value={typed}
      error={isPrice ? null : t('filters.no_price')}
      onChange={event => {
        const text = event.currentTarget.value
        setTyped(text)
        const asked = text.trim().replace(',', '.')
        if (asked === '' || EXPLORE_FIELDS.price.safeParse(asked).success) keepTyped(asked)
        else keepTyped.cancel()
      }}
    />
  )
}
