import { startLogDownload } from '@berth/contract/instance-page'
import type { Instance } from '@berth/contract/instances'
import { ActionIcon, Button, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconArrowDown, IconDownload, IconSearch } from '@tabler/icons-react'
import { type ReactNode, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { saveText } from '../../ui/save-text.ts'
import { useEvents } from '../use-events.ts'
import { LogLines } from './LogLines.tsx'
import { LogMatches } from './LogMatches.tsx'
import classes from './LogPanel.module.css'
import { EMPTY_WINDOW, findLines, type LogWindow } from './log-window.ts'
import { saveLog } from './save-log.ts'
import { useLog } from './use-log.ts'
import { type LogSearch, useLogSearch } from './use-log-search.ts'

/** A search in a log that grows is not carried out at every stroke. */
const FIND_MS = 150

/** What an instance's program writes, and what the system has to say of it, apart (B9). */
export function LogPanel({ instance, title }: { instance: Instance; title: ReactNode }) {
  const { t } = useTranslation('instances')
  const format = useFormat()
  const [source, setSource] = useState<'output' | 'system'>('output')
  const [typed, setTyped] = useState('')
  const [wanted] = useDebouncedValue(typed, FIND_MS)
  const [follows, setFollows] = useState(true)
  /** What all that is kept is searched for; null: what is here is shown. */
  const [searched, setSearched] = useState<string | null>(null)
  const search = useLogSearch(instance.instance_id, searched)
  const off = useOffFor(startLogDownload)
  // Whoever presses the button means what stands there, not what stood there a moment ago.
  const sought = typed.trim()
  const log = useLog(instance.instance_id, instance.status === 'running')
  const system = useSystemWindow(instance, source === 'system')
  const isOutput = source === 'output'
  const window = isOutput ? log.window : system
  const found = useMemo(() => findLines(window, wanted), [window, wanted])
  return (
    <section className={classes.panel} aria-label={t('logs.label')}>
      <div className={classes.bar}>
        {title}
        <SegmentedFilter
          label={t('logs.source')}
          value={source}
          onChange={chosen => {
            setSource(chosen)
            setSearched(null)
          }}
          options={(['output', 'system'] as const).map(value => ({
            value,
            label: t(`logs.sources.${value}`),
          }))}
        />
        <TextInput
          className={classes.find}
          type="search"
          aria-label={t('logs.find')}
          placeholder={t('logs.find')}
          leftSection={<IconSearch size={15} stroke={1.6} aria-hidden="true" />}
          value={typed}
          onChange={event => {
            setTyped(event.currentTarget.value)
            setSearched(null)
          }}
        />
        <Button
          variant="default"
          aria-pressed={follows}
          leftSection={<IconArrowDown size={15} stroke={1.6} />}
          onClick={() => setFollows(!follows)}
        >
          {t(follows ? 'logs.following' : 'logs.follow')}
        </Button>
        <ActionIcon
          variant="default"
          size={32}
          aria-label={t(isOutput ? 'logs.download' : 'logs.download_shown')}
          title={(isOutput ? off : null) ?? t(isOutput ? 'logs.download' : 'logs.download_shown')}
          disabled={(window.lines.length === 0 && window.open === '') || (isOutput && off !== null)}
          onClick={() =>
            isOutput
              ? // What goes wrong has been said.
                void saveLog(instance.instance_id).catch(() => undefined)
              : saveText(`${instance.name}-${source}.log`, textOf(window))
          }
        >
          <IconDownload size={16} stroke={1.6} />
        </ActionIcon>
      </div>
      {search?.error && search.found === 0 ? (
        <ErrorState message={search.error.message} requestId={search.error.requestId} />
      ) : search ? (
        <LogMatches label={t('logs.matches')} matches={search.matches} wanted={searched ?? ''} />
      ) : log.error && source === 'output' ? (
        <ErrorState message={log.error.message} requestId={log.error.requestId} />
      ) : (
        <LogLines
          label={t('logs.lines')}
          lines={found}
          wanted={wanted.trim()}
          follows={follows}
          onFollow={setFollows}
          none={noneText()}
        />
      )}
      {isOutput && sought !== '' && (
        <div className={classes.more}>
          <Button size="xs" variant="default" onClick={() => setSearched(searched === null ? sought : null)}>
            {t(searched === null ? 'logs.search_all' : 'logs.search_back')}
          </Button>
        </div>
      )}
      <p className={classes.foot} role="status">
        {search ? searchText(search) : windowText()}
      </p>
    </section>
  )

  /** How far the search is, and what of it is shown. */
  function searchText({ found: count, lines, matches, ended }: LogSearch): string {
    const counts = { count, found: format.number(count), lines: format.number(lines) }
    return [
      t(ended === null ? 'logs.searching' : 'logs.searched', counts),
      ...(matches.length < count ? [t('logs.search_last', { number: matches.length })] : []),
      ...(ended === 'time' ? [t('logs.search_time')] : []),
      ...(ended === 'gateway' || ended === 'session' ? [t('logs.search_broken')] : []),
    ].join(' ')
  }

  function windowText() {
    return (
      <>
        {source === 'output' && log.state === 'asked' && t('logs.asked')}
        {source === 'output' && window.first > 0 && ` ${t('logs.first', { number: window.first })}`}
        {wanted.trim() !== '' && ` ${t('logs.found', { count: found.length, number: found.length })}`}
      </>
    )
  }

  function noneText(): string {
    if (wanted.trim() !== '') return t('logs.none_found')
    return log.state === null && source === 'output' ? t('logs.reading') : t('logs.none')
  }
}

/** What happened to the instance, oldest first, as lines. */
function useSystemWindow(instance: Instance, enabled: boolean): LogWindow {
  const { t } = useTranslation(['instances', 'events'])
  const format = useFormat()
  const { data } = useEvents(instance, enabled)
  return useMemo(() => {
    if (!data) return EMPTY_WINDOW
    const lines = data.toReversed().map(({ at, code, detail }) => {
      const what = t(`events:event.${code}`, { defaultValue: code })
      return [format.moment(at), what, detail].filter(part => part !== '').join('  ')
    })
    return { ...EMPTY_WINDOW, lines }
  }, [data, format, t])
}

function textOf({ lines, open }: LogWindow): string {
  return [...lines, ...(open === '' ? [] : [open]), ''].join('\n')
}
