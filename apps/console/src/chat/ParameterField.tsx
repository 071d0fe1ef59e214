import { type CSSProperties, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../ui/format.ts'
import classes from './ParametersPanel.module.css'
import { fitted, type ParameterName, type ParameterRange } from './parameters.ts'

interface ParameterFieldProps {
  name: ParameterName
  range: ParameterRange
  value: number
  onChange: (value: number) => void
}

/** A number with a range: dragged, or typed. What is typed and is none stays, is said to be wrong, and changes nothing. */
export function ParameterField({ name, range, value, onChange }: ParameterFieldProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const id = useId()
  // What is typed now; null where the value speaks for itself.
  const [typed, setTyped] = useState<string | null>(null)
  const now = fitted(value, range)
  const { min, max, step } = range
  const isWrong = typed !== null && readNumber(typed, range) === null
  const said = t('parameters.range', { min: signed(format.number(min)), max: signed(format.number(max)) })
  const type = (text: string) => {
    setTyped(text)
    const number = readNumber(text, range)
    if (number !== null) onChange(number)
  }
  return (
    <div className={classes.parameter}>
      <label htmlFor={id} className={classes.name}>
        {t(`parameters.${name}`)} <span className={classes.range}>{said}</span>
      </label>
      <input
        id={id}
        className={classes.number}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        value={typed ?? text(now, step)}
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? `${id}-why` : undefined}
        onChange={event => type(event.currentTarget.value)}
        onBlur={() => isWrong || setTyped(null)}
      />
      <input
        className={classes.slider}
        style={{ '--at': `${(100 * (now - min)) / (max - min)}%` } as CSSProperties}
        type="range"
        aria-label={t(`parameters.${name}`)}
        min={min}
        max={max}
        step={step}
        value={now}
        onChange={event => {
          setTyped(null)
          onChange(fitted(event.currentTarget.valueAsNumber, range))
        }}
      />
      {isWrong && (
        <p id={`${id}-why`} className={classes.wrong} role="alert">
          {t('parameters.wrong', { range: said, used: text(now, step) })}
        </p>
      )}
    </div>
  )
}

function readNumber(typed: string, { min, max, step }: ParameterRange): number | null {
  const value = Number(typed.trim().replace(',', '.').replace('−', '-'))
  if (typed.trim() === '' || !Number.isFinite(value) || value < min || value > max) return null
  return step === 1 && !Number.isInteger(value) ? null : value
}

const text = (value: number, step: number) => (step === 1 ? String(value) : value.toFixed(2))
const signed = (text: string) => text.replace('-', '−')
