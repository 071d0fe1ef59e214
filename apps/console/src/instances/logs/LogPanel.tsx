import type { Instance } from '@berth/contract/instances'
import { ActionIcon, Button, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconArrowDown, IconDownload, IconSearch } from '@tabler/icons-react'
import { type ReactNode, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { useEvents } from '../use-events.ts'
import { LogLines } from './LogLines.tsx'
import classes from './LogPanel.module.css'
import { EMPTY_WINDOW, findLines, type LogWindow } from './log-window.ts'
import { saveText } from './save-text.ts'
import { useLog } from './use-log.ts'

/** A search in a log that grows is not carried out at every stroke. */
const FIND_MS = 150

/** What an instance's program writes, and what the system has to say of it, apart (B9). */
export function LogPanel({ instance, title }: { instance: Instance; title: ReactNode }) {
  const { t } = useTranslation('instances')
  const [source, setSource] = useState<'output' | 'system'>('output')
  const [typed, setTyped] = useState('')
  const [wanted] = useDebouncedValue(typed, FIND_MS)
  const [follows, setFollows] = useState(true)
  const log = useLog(instance.instance_id, instance.status === 'running')
  const system = useSystemWindow(instance, source === 'system')
  const window = source === 'output' ? log.window : system
  const found = useMemo(() => findLines(window, wanted), [window, wanted])
  return (
    <section className={classes.panel} aria-label={t('logs.label')}>
      <div className={classes.bar}>
        {title}
        <SegmentedFilter
          label={t('logs.source')}
          value={source}
          onChange={setSource}
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
          onChange={event => setTyped(event.currentTarget.value)}
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
          aria-label={t('logs.download')}
          title={t('logs.download')}
          disabled={found.length === 0}
          onClick={() => saveText(`${instance.name}-${source}.log`, textOf(window))}
        >
          <IconDownload size={16} stroke={1.6} />
        </ActionIcon>
      </div>
      {log.error && source === 'output' ? (
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
      <p className={classes.foot} role="status">
        {source === 'output' && log.state === 'asked' && t('logs.asked')}
        {source === 'output' && window.first > 0 && ` ${t('logs.first', { number: window.first })}`}
        {wanted.trim() !== '' && ` ${t('logs.found', { count: found.length, number: found.length })}`}
      </p>
    </section>
  )

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
