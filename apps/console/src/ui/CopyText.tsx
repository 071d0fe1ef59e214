import { ActionIcon } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './CopyText.module.css'
import { copyText } from './copy-text.ts'

const SHOWN_MS = 1_500

interface CopyTextProps {
  /** What is copied, and shown unless there are children. */
  value: string
  /** What it is, for the button's name: `Account ID`. */
  label: string
  mono?: boolean
  children?: ReactNode
}

/** A text with a button that copies it, and says so. */
export function CopyText({ value, label, mono = false, children }: CopyTextProps) {
  return (
    <span className={classes.copy}>
      <span className={mono ? `${classes.text} mono` : classes.text}>{children ?? value}</span>
      <CopyButton textOf={() => value} label={label} />
    </span>
  )
}

interface CopyButtonProps {
  /** What is copied, asked for when the button is pressed. */
  textOf: () => string
  /** What it is, for the button's name. */
  label: string
}

/** A button that copies a text, and says so. */
export function CopyButton({ textOf, label }: CopyButtonProps) {
  const { t } = useTranslation('common')
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <>
      <ActionIcon
        size="sm"
        color="gray"
        className={classes.button}
        aria-label={t('copy.action', { what: label })}
        title={t('copy.action', { what: label })}
        onClick={() => {
          copyText(textOf()).then(
            () => setState('copied'),
            () => setState('failed'),
          )
        }}
      >
        {state === 'copied' ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
      <span className="said" role="status">
        {state === 'idle' ? '' : t(`copy.${state}`)}
      </span>
    </>
  )
}
