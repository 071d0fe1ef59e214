import { Button } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { copyText } from '../../../ui/copy-text.ts'
import classes from './Keys.module.css'

interface NewApiKeyProps {
  /** The key itself. */
  value: string
  onClose: () => void
}

/** A key that is shown this once: to be copied, and closed on purpose. */
export function NewApiKey({ value, onClose }: NewApiKeyProps) {
  const { t } = useTranslation('keys')
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = () =>
    copyText(value).then(
      () => setState('copied'),
      () => setState('failed'),
    )
  return (
    <div className={classes.form}>
      <p className={classes.note}>{t('api.made.text')}</p>
      <section className={`${classes.secret} mono`} aria-label={t('api.made.what')}>
        {value}
      </section>
      <p role="status" className={state === 'failed' ? classes.failed : 'said'}>
        {state === 'idle' ? '' : t(`api.made.${state}`)}
      </p>
      <div className={classes.buttons}>
        <Button variant="default" onClick={onClose}>
          {t('api.made.close')}
        </Button>
        <Button
          data-autofocus
          // The form that had the focus is gone.
          autoFocus
          leftSection={state === 'copied' ? <IconCheck size={16} /> : <IconCopy size={16} />}
          onClick={() => void copy()}
        >
          {state === 'copied' ? t('api.made.copied') : t('api.made.copy')}
        </Button>
      </div>
    </div>
  )
}
