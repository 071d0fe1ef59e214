import { MODEL_TOOLS, type ModelTool } from '@berth/contract/model-code'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../app/search.ts'
import { CodeSample } from '../ui/CodeSample.tsx'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import classes from './CallCode.module.css'

/** What customers call the languages by, everywhere. */
const TOOL_NAMES: Record<ModelTool, string> = { curl: 'cURL', python: 'Python', javascript: 'JavaScript' }

/** A call as a program makes it. */
interface CodedCall {
  /** What tells it from the others; left out where there is one. */
  name?: string
  /** It in a language, at the address where programs call models. */
  codeOf: (tool: ModelTool, url: string) => string
}

interface CallCodeProps {
  calls: readonly CodedCall[]
  /** Whether it says where keys are made; left out: it does. */
  saysKeys?: boolean
}

/** How a program makes calls, in the language that is chosen, and where it has its key from (B11). */
export function CallCode({ calls, saysKeys = true }: CallCodeProps) {
  const { t } = useTranslation('models')
  const [tool, setTool] = useState<ModelTool>('curl')
  return (
    <div className={classes.code}>
      <div>
        <SegmentedFilter
          label={t('code.tool')}
          value={tool}
          onChange={setTool}
          options={MODEL_TOOLS.map(value => ({ value, label: TOOL_NAMES[value] }))}
        />
      </div>
      {calls.map(({ name = '', codeOf }) => (
        <CodeSample
          key={name}
          label={[name, TOOL_NAMES[tool]].filter(Boolean).join(', ')}
          code={codeOf(tool, `${window.location.origin}/v1`)}
        />
      ))}
      {saysKeys && (
        <p className={classes.note}>
          <span>{t('code.key')}</span>
          <Link to="/settings" search={searchOf({ section: 'api-keys' })}>
            {t('keys')}
          </Link>
        </p>
      )}
    </div>
  )
}
