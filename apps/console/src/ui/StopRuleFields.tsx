import { IDLE_BUSY_PERCENT_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import type { StopRuleValues } from './stop-rules.ts'

/**
 * The fields that say when an instance is stopped by itself (B5).
 * @param fieldOf What a field of the form needs: its value, its error, how it changes.
 * @param currency That of the wallet, in which the limit is.
 */
export function StopRuleFields({
  fieldOf,
  currency,
}: {
  fieldOf: (
    path: keyof StopRuleValues,
  ) => ReturnType<UseFormReturnType<Record<keyof StopRuleValues, string>>['getInputProps']>
  currency: string
}) {
  const { t } = useTranslation('common')
  return (
    <>
      <TextInput
        type="datetime-local"
        label={t('stop_rules.stop_at')}
        description={t('stop_rules.stop_at_note')}
        {...fieldOf('stop_at')}
      />
      <TextInput
        label={t('stop_rules.spend_limit', { currency })}
        description={t('stop_rules.spend_limit_note')}
        inputMode="decimal"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...fieldOf('spend_limit_cents')}
      />
      <TextInput
        label={t('stop_rules.idle_stop')}
        description={t('stop_rules.idle_stop_note', { percent: IDLE_BUSY_PERCENT_MAX })}
        inputMode="numeric"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...fieldOf('idle_stop_minutes')}
      />
    </>
  )
}
