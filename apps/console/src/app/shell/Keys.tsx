import { Fragment } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './Keys.module.css'
import type { Shortcut } from './shortcuts.ts'

/** The keys of a shortcut, as they stand on the keyboard. */
export function Keys({ keys }: Pick<Shortcut, 'keys'>) {
  const { t } = useTranslation('common')
  if (keys[0] === 'mod')
    return <kbd className={classes.key}>{`${isMac() ? '⌘' : 'Ctrl'} ${upper(keys[1])}`}</kbd>
  return (
    <span className={classes.keys}>
      {keys.map((key, index) => (
        <Fragment key={key}>
          {index > 0 && <span className={classes.then}>{t('shortcuts.then')}</span>}
          <kbd className={classes.key}>{upper(key)}</kbd>
        </Fragment>
      ))}
    </span>
  )
}

const upper = (key = '') => key.toUpperCase()
const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent)
