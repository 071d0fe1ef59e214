import { CREATION_PROMPT_CHARS_MAX } from '@berth/contract/limits'
import { guessTokens, LETTERS_PER_TOKEN } from '@berth/contract/token-guess'
import { Textarea } from '@mantine/core'
import type { ClipboardEvent, KeyboardEvent, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { isComposing } from '../chat/composing.ts'
import { useFormat } from '../ui/format.ts'
import classes from './Fields.module.css'

interface PromptFieldProps {
  value: string
  error: ReactNode
  /** How many are made of it. */
  count: number
  /** Tokens that the model reads; 0 where it does not say. */
  tokensMax: number
  onChange: (text: string) => void
  /** Pictures that are pasted into it. */
  onFiles?: ((files: readonly File[]) => void) | undefined
}

/** What is to be seen. Ctrl+Enter sends the form, which is said beside it. */
export function PromptField({ value, error, count, tokensMax, onChange, onFiles }: PromptFieldProps) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const tokens = format.number(guessTokens(value))
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || isComposing(event)) return
    event.preventDefault()
    event.currentTarget.form?.requestSubmit()
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (!onFiles || files.length === 0) return
    event.preventDefault()
    onFiles(files)
  }
  return (
    <Textarea
      label={t('fields.prompt')}
      placeholder={t('fields.prompt_hint')}
      data-path="prompt"
      rows={4}
      classNames={{ input: classes.prompt ?? '' }}
      value={value}
      error={error}
      description={
        <span className={classes.under}>
          <span title={t('fields.tokens_guess', { letters: LETTERS_PER_TOKEN })}>
            {value.length > CREATION_PROMPT_CHARS_MAX
              ? t('fields.too_long', {
                  chars: format.number(value.length),
                  most: format.number(CREATION_PROMPT_CHARS_MAX),
                })
              : tokensMax > 0
                ? t('fields.tokens_of', { tokens, most: format.number(tokensMax) })
                : t('fields.tokens', { tokens })}
          </span>
          <span className={classes.keys}>{t('fields.keys', { count })}</span>
        </span>
      }
      onChange={event => onChange(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  )
}
