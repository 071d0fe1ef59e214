import { CREATION_SEED_MAX } from '@berth/contract/limits'
import { ActionIcon, NumberInput } from '@mantine/core'
import { IconDice5 } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { FieldLabel } from './FieldLabel.tsx'

/** Short enough to be read aloud and typed again. */
const DRAWN_SEEDS = 100_000

interface SeedFieldProps {
  /** Empty: whichever. */
  value: number | string
  error: ReactNode
  /** Said behind the word: which of the pictures has it. */
  second?: string
  onChange: (value: number | string) => void
}

/** A number by which the same comes out again; one is drawn, or the gateway takes one. */
export function SeedField({ value, error, second, onChange }: SeedFieldProps) {
  const { t } = useTranslation('making')
  return (
    <NumberInput
      label={<FieldLabel name={t('fields.seed')} second={second} />}
      placeholder={t('fields.seed_any')}
      data-path="seed"
      hideControls
      allowDecimal={false}
      allowNegative={false}
      clampBehavior="none"
      max={CREATION_SEED_MAX}
      value={value}
      error={error}
      onChange={onChange}
      rightSection={
        <ActionIcon
          size="sm"
          color="gray"
          aria-label={t('fields.seed_draw')}
          title={t('fields.seed_draw')}
          onClick={() => onChange(Math.floor(Math.random() * DRAWN_SEEDS))}
        >
          <IconDice5 size={17} stroke={1.6} />
        </ActionIcon>
      }
    />
  )
}
