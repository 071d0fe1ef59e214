import { Checkbox, Modal } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { pageTitle } from '../page-title.ts'
import { Keys } from './Keys.tsx'
import classes from './ShortcutSheet.module.css'
import { isSingleKey, SHORTCUTS, type Shortcut } from './shortcuts.ts'
import { areSingleKeysOn, switchSingleKeys } from './single-keys.ts'

/** Every shortcut that there is, and the switch for those of single characters (WCAG 2.1.4). */
export function ShortcutSheet({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('common')
  const [singleKeys, setSingleKeys] = useState(areSingleKeysOn)
  const groups = [
    { title: t('shortcuts.anywhere'), rows: SHORTCUTS.filter(({ act }) => act !== 'go') },
    { title: t('shortcuts.pages'), rows: SHORTCUTS.filter(({ act }) => act === 'go') },
  ]
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('shortcuts.title')}
      size={440}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      {groups.map(({ title, rows }) => (
        <section key={title} className={classes.group}>
          <h3 className={classes.heading}>{title}</h3>
          <dl className={classes.rows}>
            {rows.map(shortcut => (
              <div
                key={shortcut.keys.join(' ')}
                className={classes.row}
                data-off={(isSingleKey(shortcut) && !singleKeys) || undefined}
              >
                <dt>
                  <ShortcutName shortcut={shortcut} />
                </dt>
                <dd>
                  <Keys keys={shortcut.keys} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <Checkbox
        className={classes.switch ?? ''}
        label={t('shortcuts.single')}
        description={t('shortcuts.single_hint')}
        checked={singleKeys}
        onChange={event => {
          setSingleKeys(event.currentTarget.checked)
          switchSingleKeys(event.currentTarget.checked)
        }}
      />
    </Modal>
  )
}

function ShortcutName({ shortcut: { act, path = '' } }: { shortcut: Shortcut }) {
  const { t } = useTranslation('common')
  return act === 'go' ? t('shortcuts.go', { page: pageTitle(path, t) }) : t(`shortcuts.${act}`)
}
