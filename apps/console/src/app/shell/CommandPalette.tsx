import type { Instance } from '@berth/contract/instances'
import { Modal } from '@mantine/core'
import { IconChevronLeft, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../../api/queries.ts'
import { useSession } from '../session/session.ts'
import classes from './CommandPalette.module.css'
import { Keys } from './Keys.tsx'
import { findRows, type PaletteRow } from './palette-rows.ts'
import type { ShellCommands } from './shell-commands.ts'
import { useCommandRows, useInstanceRows } from './use-palette-rows.ts'

interface CommandPaletteProps {
  opened: boolean
  onClose: () => void
  commands: ShellCommands
}

/** Pages, instances and commands by name (Ctrl+K). An instance leads on to what can be done with it. */
export function CommandPalette({ opened, onClose, commands }: CommandPaletteProps) {
  const { t } = useTranslation('common')
  // Opened again before it was gone, it starts anew all the same.
  const [times, setTimes] = useState({ count: 1, opened })
  if (times.opened !== opened) setTimes({ count: times.count + (opened ? 1 : 0), opened })
  const next = useRef<(() => void) | null>(null)
  useEffect(() => {
    // What was chosen before is not done any more once somebody is back here.
    if (opened) next.current = null
  }, [opened])
  const choose = (row: PaletteRow) => {
    if (row.off) return
    if (row.ends === 'stays') return row.run()
    onClose()
    // Two dialogs at once would fight over the focus.
    if (row.ends === 'opens') next.current = row.run
    else row.run()
  }
  return (
    <Modal.Root
      opened={opened}
      onClose={onClose}
      size={600}
      yOffset="12vh"
      centered={false}
      // The shell gives it back; a page that is gone to takes it first.
      returnFocus={false}
      onExitTransitionEnd={() => {
        next.current?.()
        next.current = null
      }}
    >
      <Modal.Overlay />
      <Modal.Content aria-label={t('palette.label')} data-palette>
        <Finder key={times.count} opened={opened} commands={commands} onChoose={choose} />
      </Modal.Content>
    </Modal.Root>
  )
}

interface FinderProps {
  opened: boolean
  commands: ShellCommands
  onChoose: (row: PaletteRow) => void
}

function Finder({ opened, commands, onChoose }: FinderProps) {
  const { t } = useTranslation('common')
  const { user } = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const [text, setText] = useState('')
  const [subject, setSubject] = useState<Instance | null>(null)
  const [at, setAt] = useState(0)
  const listId = useId()
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => input.current?.focus(), [])
  const show = (next: Instance | null) => {
    setSubject(next)
    setText('')
    setAt(0)
    input.current?.focus()
  }
  const deps = { user, docsUrl: settings?.brand.docs_url, commands, onSubject: show }
  const everything = useCommandRows(deps)
  const instances = useInstanceRows(deps, opened)
  const groups = findRows(subject ? instances.actionsOf(subject) : [...everything, ...instances.rows], text)
  const rows = groups.flatMap(group => group.rows)
  // The rows change by themselves too, when instances arrive.
  const active = rows[Math.min(at, rows.length - 1)]
  const idOf = (row: PaletteRow) => `${listId}-${row.id}`
  useShownRow(active && idOf(active))

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && rows.length > 0)
      setAt((Math.min(at, rows.length - 1) + step + rows.length) % rows.length)
    else if (event.key === 'Enter' && active) onChoose(active)
    else if (event.key === 'Backspace' && text === '' && subject) show(null)
    else return
    event.preventDefault()
  }
  return (
    <>
      <div className={classes.search}>
        {subject ? (
          <button
            type="button"
            className={classes.back}
            onClick={() => show(null)}
            aria-label={t('palette.back')}
          >
            <IconChevronLeft size={16} stroke={1.6} aria-hidden="true" />
            <span>{subject.name}</span>
          </button>
        ) : (
          <IconSearch size={17} stroke={1.6} aria-hidden="true" />
        )}
        <input
          ref={input}
          data-autofocus
          className={classes.input}
          role="combobox"
          aria-expanded={rows.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={active && idOf(active)}
          aria-label={subject ? t('palette.subject', { name: subject.name }) : t('palette.placeholder')}
          placeholder={subject ? t('palette.subject', { name: subject.name }) : t('palette.placeholder')}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={event => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKey}
        />
      </div>
      <div className={classes.list} role="listbox" id={listId} aria-label={t('palette.label')}>
        {groups.map(({ group, rows: shown }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options in a list box.
          <div key={group} role="group" aria-label={t(`palette.${group}`)} className={classes.group}>
            <div className={classes.heading} aria-hidden="true">
              {t(`palette.${group}`)}
            </div>
            {shown.map(row => (
              <Row
                key={row.id}
                id={idOf(row)}
                row={row}
                active={row === active}
                onPoint={() => setAt(rows.indexOf(row))}
                onChoose={() => onChoose(row)}
              />
            ))}
          </div>
        ))}
      </div>
      <p className={rows.length === 0 ? classes.nothing : 'said'} role="status">
        {rows.length === 0 ? t('palette.nothing') : ''}
      </p>
      {instances.failed && <p className={classes.failed}>{t('palette.failed')}</p>}
      <Foot />
    </>
  )
}

interface RowProps {
  id: string
  row: PaletteRow
  active: boolean
  onPoint: () => void
  onChoose: () => void
}

function Row({ id, row, active, onPoint, onChoose }: RowProps) {
  const Icon = row.icon
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field holds the focus and chooses the active row by Enter.
    <div
      id={id}
      className={classes.row}
      role="option"
      tabIndex={-1}
      aria-selected={active}
      aria-disabled={Boolean(row.off)}
      // The focus stays in the field.
      onMouseDown={event => event.preventDefault()}
      onPointerMove={active ? undefined : onPoint}
      onClick={onChoose}
    >
      <Icon size={17} stroke={1.6} aria-hidden="true" className={classes.icon} />
      <span className={classes.label}>{row.label}</span>
      {row.hint && <span className={classes.hint}>{row.hint}</span>}
      {row.off && <span className={classes.reason}>{row.off}</span>}
      {row.keys && (
        <span className={classes.keys} aria-hidden="true">
          <Keys keys={row.keys} />
        </span>
      )}
    </div>
  )
}

/** How it is used, for those who see it. */
function Foot() {
  const { t } = useTranslation('common')
  return (
    <div className={classes.foot} aria-hidden="true">
      <span>
        <kbd>↑</kbd> <kbd>↓</kbd> {t('palette.move')}
      </span>
      <span>
        <kbd>↵</kbd> {t('palette.choose')}
      </span>
      <span>
        <kbd>Esc</kbd> {t('palette.close')}
      </span>
    </div>
  )
}

/** Keeps the active row in sight. */
function useShownRow(id: string | undefined): void {
  useEffect(() => {
    if (id !== undefined) document.getElementById(id)?.scrollIntoView({ block: 'nearest' })
  }, [id])
}
