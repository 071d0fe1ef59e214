import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../ui/EmptyState.tsx'
import classes from './StartPrompts.module.css'

const PROMPTS = ['first', 'second', 'third'] as const

interface StartPromptsProps {
  kind: 'image' | 'video'
  /** Puts a prompt into its field; nothing is sent. */
  onChoose: (prompt: string) => void
}

/** What stands there before anything was made: what happens here, and three prompts to start from. */
export function StartPrompts({ kind, onChoose }: StartPromptsProps) {
  const { t } = useTranslation('making')
  return (
    <EmptyState
      title={t(`start.${kind}.title`)}
      hint={t(`start.${kind}.hint`)}
      action={
        <div className={classes.prompts}>
          {PROMPTS.map(name => (
            <Button
              key={name}
              variant="default"
              className={classes.prompt ?? ''}
              onClick={() => onChoose(t(`start.${kind}.${name}`))}
            >
              {t(`start.${kind}.${name}`)}
            </Button>
          ))}
        </div>
      }
    />
  )
}
