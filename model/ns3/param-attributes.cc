/* SPDX-License-Identifier: GPL-2.0-only */
#include "param-attributes.h"

#include "../sim/sim.h"

#include "ns3/attribute.h"
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/integer.h"
#include "ns3/nstime.h"
#include "ns3/object-base.h"
#include "ns3/string.h"

#include <cctype>
#include <cstring>
#include <sstream>

namespace ns3
{

namespace
{

/* INT64_MAX does not survive Time's own conversions: never is this and above. */
const char* const NEVER_TIME = "1000000s";
constexpr int64_t NEVER_TIME_PS = INT64_C(1000000000000000000);

class ParamAccessor : public AttributeAccessor
{
  public:
    ParamAccessor(const struct param* row, ParamsOf paramsOf)
        : m_row(row),
          m_paramsOf(paramsOf)
    {
    }

    bool Set(ObjectBase* object, const AttributeValue& value) const override
    {
        double real = 0;
        int64_t whole = 0;
        if (!Read(value, &whole, &real))
        {
            return false;
        }
        bool isReal = m_row->kind == PARAM_FRACTION || m_row->kind == PARAM_NUMBER;
        double v = isReal ? real : (double)whole;
        if (!(v >= m_row->low && v <= m_row->high))
        {
            return false;
        }
        std::memcpy(At(object), isReal ? (void*)&real : (void*)&whole, 8);
        return true;
    }

    bool Get(const ObjectBase* object, AttributeValue& value) const override
    {
        int64_t whole;
        double real;
        std::memcpy(&whole, At(const_cast<ObjectBase*>(object)), sizeof whole);
        std::memcpy(&real, &whole, sizeof real);
        if (auto v = dynamic_cast<TimeValue*>(&value))
        {
            v->Set(PicoSeconds(whole >= NEVER_TIME_PS ? NEVER_TIME_PS : whole));
        }
        else if (auto v = dynamic_cast<DataRateValue*>(&value))
        {
            v->Set(DataRate((uint64_t)whole));
        }
        else if (auto v = dynamic_cast<BooleanValue*>(&value))
        {
            v->Set(whole != 0);
        }
        else if (auto v = dynamic_cast<EnumValue*>(&value))
        {
            v->Set((int)whole);
        }
        else if (auto v = dynamic_cast<IntegerValue*>(&value))
        {
            v->Set(whole);
        }
        else if (auto v = dynamic_cast<DoubleValue*>(&value))
        {
            v->Set(real);
        }
        else
        {
            return false;
        }
        return true;
    }

    bool HasGetter() const override
    {
        return true;
    }

    bool HasSetter() const override
    {
        return true;
    }

  private:
    char* At(ObjectBase* object) const
    {
        return static_cast<char*>(m_paramsOf(object)) + m_row->offset;
    }

    static bool Read(const AttributeValue& value, int64_t* whole, double* real)
    {
        if (auto v = dynamic_cast<const TimeValue*>(&value))
        {
            *whole = v->Get().GetPicoSeconds();
            if (*whole >= NEVER_TIME_PS)
            {
                *whole = SIM_NEVER_PS;
            }
        }
        else if (auto v = dynamic_cast<const DataRateValue*>(&value))
        {
            *whole = (int64_t)v->Get().GetBitRate();
        }
        else if (auto v = dynamic_cast<const BooleanValue*>(&value))
        {
            *whole = v->Get();
        }
        else if (auto v = dynamic_cast<const EnumValue*>(&value))
        {
            *whole = v->Get();
        }
        else if (auto v = dynamic_cast<const IntegerValue*>(&value))
        {
            *whole = v->Get();
        }
        else if (auto v = dynamic_cast<const DoubleValue*>(&value))
        {
            *real = v->Get();
        }
        else
        {
            return false;
        }
        return true;
    }

    const struct param* m_row;
    ParamsOf m_paramsOf;
};

int64_t
Bound(double v)
{
    return v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : (int64_t)v;
}

/* Bounds of times and rates are the accessor's: a Time made before the resolution is set would be cut to ns. */
Ptr<const AttributeChecker>
CheckerOf(const struct param* row)
{
    switch (row->kind)
    {
    case PARAM_TIME:
        return MakeTimeChecker();
    case PARAM_RATE:
        return MakeDataRateChecker();
    case PARAM_BOOL:
        return MakeBooleanChecker();
    case PARAM_ENUM: {
        Ptr<EnumChecker> checker = Create<EnumChecker>();
        std::istringstream names(row->names);
        std::string name;
        for (int i = 0; std::getline(names, name, '|'); i++)
        {
            if (i == (int)row->def)
            {
                checker->AddDefault(i, name);
            }
            else
            {
                checker->Add(i, name);
            }
        }
        return checker;
    }
    case PARAM_BYTES:
    case PARAM_COUNT:
    case PARAM_LENGTH:
        return MakeIntegerChecker<int64_t>(Bound(row->low), Bound(row->high));
    case PARAM_FRACTION:
    case PARAM_NUMBER:
        break;
    }
    return MakeDoubleChecker<double>(row->low, row->high);
}

} // namespace

std::string
ParamAttributeName(const struct param* row)
{
    char buf[128];
    std::string name;
    bool upper = true;
    for (const char* c = param_public_name(row, buf, sizeof buf); *c; c++)
    {
        if (*c == '-')
        {
            upper = true;
            continue;
        }
        name += upper ? (char)std::toupper((unsigned char)*c) : *c;
        upper = false;
    }
    return name;
}

std::string
ParamAttributeText(const struct param* row, double value)
{
    char buf[128];
    if (row->kind == PARAM_BYTES || row->kind == PARAM_COUNT || row->kind == PARAM_LENGTH)
    {
        return std::to_string(Bound(value));
    }
    if (row->kind == PARAM_TIME && value >= (double)NEVER_TIME_PS)
    {
        return NEVER_TIME;
    }
    if (row->kind == PARAM_BOOL)
    {
        return value != 0 ? "true" : "false";
    }
    return param_format_value(row->kind, row->names, value, buf, sizeof buf);
}

TypeId
AddParamAttributes(TypeId tid, const struct param_table* table, ParamsOf paramsOf)
{
    for (size_t i = 0; i < table->count; i++)
    {
        const struct param* row = &table->rows[i];
        std::string help = std::string(row->meaning) + " [" + row->source + "]";
        if (row->kind == PARAM_BYTES)
        {
            help += "; in bytes";
        }
        if (row->kind == PARAM_TIME && row->high >= (double)NEVER_TIME_PS)
        {
            help += std::string("; ") + NEVER_TIME + " or more: never";
        }
        tid.AddAttribute(ParamAttributeName(row),
                         help,
                         StringValue(ParamAttributeText(row, row->def)),
                         Ptr<const AttributeAccessor>(new ParamAccessor(row, paramsOf), false),
                         CheckerOf(row));
    }
    return tid;
}

} // namespace ns3
