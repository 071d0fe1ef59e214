import { Button, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { PayPlatform } from './pay-platform.ts'
import classes from './TopupDialog.module.css'

/** Test cards by what they do; the numbers are the ones that payment platforms publish for testing. */
const TEST_CARDS = [
  { key: 'succeeds', number: '4242 4242 4242 4242' },
  { key: 'declines', number: '4000 0000 0000 0002' },
  { key: 'no_funds', number: '4000 0000 0000 9995' },
  { key: 'asks', number: '4000 0025 0000 3155' },
  { key: 'fails_after', number: '4000 0084 0000 1629' },
  { key: 'late', number: '6011 1111 1111 1117' },
  { key: 'refunded', number: '4000 0000 0000 7726' },
  { key: 'refund_fails', number: '4000 0000 0000 5126' },
  { key: 'disputed', number: '4000 0000 0000 0259' },
  { key: 'dispute_won', number: '4000 0000 0000 2685' },
] as const

interface CardFieldsProps {
  platform: PayPlatform
  /** What `form.getInputProps` gives for the field of the number. */
  field: object
  /** A test card was chosen by what it does. */
  onPick: (number: string) => void
}

/** Where a card's number is entered, with the test cards where no real money moves. */
export function CardFields({ platform, field, onPick }: CardFieldsProps) {
  const { t } = useTranslation('payments')
  return (
    <>
      <TextInput
        label={t('topup.card')}
        description={platform.test ? t('topup.test_note') : undefined}
        placeholder="4242 4242 4242 4242"
        inputMode="numeric"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...field}
      />
      {platform.test && (
        <div className={classes.cards}>
          {TEST_CARDS.map(card => (
            <Button key={card.key} size="xs" variant="default" onClick={() => onPick(card.number)}>
              {t(`topup.cards.${card.key}`)}
            </Button>
          ))}
        </div>
      )}
    </>
  )
}
