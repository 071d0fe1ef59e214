import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../ui/EmptyState.tsx'
import classes from './Starters.module.css'

const STARTERS = ['compare', 'explain', 'write'] as const

interface StartersProps {
  count: number
  /** Puts a prompt where messages are written; nothing is sent. */
  onChoose: (text: string) => void
}

/** What stands there before anything was said: what happens here, and some prompts to begin with. */
export function Starters({ count, onChoose }: StartersProps) {
  const { t } = useTranslation('chat')
  return (
    <EmptyState
      title={count === 1 ? t('start.title') : t('start.title_all', { number: count })}
      hint={t('start.hint')}
      action={
        <div className={classes.starters}>
          {STARTERS.map(name => (
            <Button key={name} variant="default" onClick={() => onChoose(t(`start.${name}_text`))}>
              {t(`start.${name}`)}
            </Button>
          ))}
        </div>
      }
    />
  )
}
