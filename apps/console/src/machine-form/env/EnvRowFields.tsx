import { ENV_NAME_CHARS_MAX, ENV_VALUE_CHARS_MAX } from '@berth/contract/limits'
import { ActionIcon, Input, Textarea, TextInput } from '@mantine/core'
import { IconLock, IconLockOpen, IconX } from '@tabler/icons-react'
import type { ClipboardEvent, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PasswordField } from '../../ui/PasswordField.tsx'
import classes from './EnvField.module.css'
import { type EnvRow, isSecret } from './env-rows.ts'

interface EnvRowFieldsProps {
  row: EnvRow
  /** Its place, from 1. */
  at: number
  /** The empty one at the end: what is wrong with all of them is said there. */
  isNew: boolean
  /** Its value is one that nobody is told, and stays unless another is typed. */
  isKept: boolean
  error: ReactNode
  onChange: (row: EnvRow) => void
  onRemove: () => void
  onPaste: (event: ClipboardEvent, isValue: boolean) => void
}

/** One variable: its name, its value, whether that is hidden. */
export function EnvRowFields({
  row,
  at,
  isNew,
  isKept,
  error,
  onChange,
  onRemove,
  onPaste,
}: EnvRowFieldsProps) {
  const { t } = useTranslation('deploy')
  const secret = isKept || isSecret(row)
  const what = row.name || t('env.number', { number: at })
  const value = {
    'aria-label': t('env.value_of', { name: what }),
    placeholder: t(isKept ? 'env.kept' : 'env.value'),
    classNames: { input: 'mono' },
    autoComplete: 'off',
    spellCheck: false,
    maxLength: ENV_VALUE_CHARS_MAX + 1,
    value: row.value,
    onPaste: (event: ClipboardEvent) => onPaste(event, true),
  }
  const Lock = secret ? IconLock : IconLockOpen
  return (
    <div className={classes.row}>
      <TextInput
        className={classes.name ?? ''}
        data-path={isNew ? 'env' : `env.${row.name}`}
        aria-label={isNew ? t('env.add') : t('env.name_of', { name: what })}
        placeholder={isNew ? t('env.placeholder') : t('env.name')}
        classNames={{ input: 'mono' }}
        autoComplete="off"
        spellCheck={false}
        maxLength={ENV_NAME_CHARS_MAX + 1}
        value={row.name}
        // It is said under the whole row, which has the room for it.
        error={Boolean(error)}
        onChange={event => onChange({ ...row, name: event.target.value })}
        onPaste={event => onPaste(event, false)}
      />
      {secret && !row.value.includes('\n') ? (
        <PasswordField
          {...value}
          // What a browser keeps for a page is not meant here.
          autoComplete="new-password"
          onChange={event => onChange({ ...row, value: event.target.value })}
        />
      ) : (
        <Textarea
          {...value}
          autosize
          minRows={1}
          maxRows={6}
          {...(secret && { classNames: { input: `mono ${classes.masked}` } })}
          onChange={event => onChange({ ...row, value: event.target.value })}
        />
      )}
      <div className={classes.actions}>
        {!isNew && (
          <>
            <ActionIcon
              color="gray"
              aria-label={t('env.secret', { name: what })}
              title={t(secret ? 'env.is_secret' : 'env.is_shown')}
              aria-pressed={secret}
              disabled={isKept}
              onClick={() => onChange({ ...row, secret: !secret })}
            >
              <Lock size={16} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
            <ActionIcon
              color="gray"
              aria-label={t('env.remove', { name: what })}
              title={t('env.remove', { name: what })}
              onClick={onRemove}
            >
              <IconX size={16} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
          </>
        )}
      </div>
      {error && <Input.Error className={classes.error ?? ''}>{error}</Input.Error>}
    </div>
  )
}
