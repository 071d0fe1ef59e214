import { TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { FieldLabel } from './FieldLabel.tsx'

interface LeaveOutFieldProps {
  value: string
  error: ReactNode
  onChange: (text: string) => void
}

/** What is not to be seen (R2.30). */
export function LeaveOutField({ value, error, onChange }: LeaveOutFieldProps) {
  const { t } = useTranslation('making')
  return (
    <TextInput
      label={<FieldLabel name={t('fields.leave_out')} second={t('fields.leave_out_second')} />}
      data-path="negative_prompt"
      autoComplete="off"
      value={value}
      error={error}
      onChange={event => onChange(event.currentTarget.value)}
    />
  )
}
